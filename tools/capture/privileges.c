/* SPDX-License-Identifier: MIT */
#include "tools/capture/privileges.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

/* CAP_NET_ADMIN: a larger buffer for packets (interface.h). CAP_DAC_OVERRIDE:
 * root may name files that belong to others, as with any other program, until
 * everything is open. */
static const cap_value_t wanted[] = { CAP_NET_RAW, CAP_NET_ADMIN,
	CAP_DAC_OVERRIDE };

static enum status
set_caps(cap_t caps)
{
	const int ret = cap_set_proc(caps);
	const int saved = errno;

	cap_free(caps);
	errno = saved;
	return ret == 0 ? OK : E_IO;
}

enum status
privileges_keep_capture(void)
{
	cap_t has = cap_get_proc(), keep = cap_init();
	cap_flag_value_t is_there;

	if (has == NULL || keep == NULL)
		return E_IO;
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (cap_get_flag(has, wanted[i], CAP_PERMITTED, &is_there) != 0)
			return E_IO;
		if (is_there != CAP_SET)
			continue;
		if (cap_set_flag(keep, CAP_PERMITTED, 1, &wanted[i], CAP_SET) !=
			0 ||
		    cap_set_flag(keep, CAP_EFFECTIVE, 1, &wanted[i], CAP_SET) !=
			0)
			return E_IO;
	}
	cap_free(has);
	return set_caps(keep);
}

enum status
privileges_drop(void)
{
	cap_t none = cap_init();

	if (none == NULL || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return E_IO;
	return set_caps(none);
}
