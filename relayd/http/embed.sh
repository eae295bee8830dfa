#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: embed.sh PAGE.html >page_html.h
# The page as an array, and its Content-Security-Policy: only its own styles and
# scripts, which are known by their hashes. A <style> or <script> begins and ends
# on lines of their own, without attributes, and there is at most one of each.
set -eu

# What is between <$1> and </$1>, byte for byte, with its line ends.
between()
{
	awk -v name="$1" '
		$0 == "</" name ">" { inside = 0; exit }
		inside { print }
		$0 == "<" name ">" { inside = 1; printf "\n" }' "$page"
}

# Hexadecimal digits as what printf(1) takes.
octal()
{
	awk '{
		for (i = 1; i < length($0); i += 2)
			printf "\\%03o", 16 * digit(substr($0, i, 1)) + \
				digit(substr($0, i + 1, 1))
	}
	function digit(c) { return index("0123456789abcdef", c) - 1 }'
}

hash_of()
{
	if ! grep -q "^<$1>\$" "$page"; then
		echo "'none'"
		return
	fi
	# shellcheck disable=SC2059 # the hash as bytes
	printf "'sha256-%s'" "$(printf "$(between "$1" | sha256sum |
		cut -c 1-64 | octal)" | base64)"
}

page=$1
echo "/* Made by embed.sh from page.html. */"
echo "static const char page_policy[] ="
echo "    \"default-src 'none'; base-uri 'none'; form-action 'none'; \""
echo "    \"frame-ancestors 'none'; connect-src 'self'; \""
echo "    \"style-src $(hash_of style); \""
echo "    \"script-src $(hash_of script)\";"
echo "static const unsigned char page_html[] = {"
od -An -v -tx1 "$page" | sed 's/ \(..\)/0x\1,/g'
echo "};"
