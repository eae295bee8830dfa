/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Which limit a directory was deleted for: the label of deleted_total, the log
 * line, and the member in the JSON.
 *      name       text
 */
DELETED(max_age,   "it was older than --max-age")
DELETED(max_use,   "more was used than --max-use")
DELETED(keep_free, "less was free than --keep-free")
