/* SPDX-License-Identifier: MIT */
#include "tools/ctl/address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"

/* Copy part WHICH of U to OUT; empty if there is none. False: it does not fit.
 */
static bool
take_part(CURLU *u, CURLUPart which, char *out, size_t n)
{
	char *text = NULL;
	size_t len;

	out[0] = '\0';
	if (curl_url_get(u, which, &text, 0) != CURLUE_OK)
		return true;
	len = strlen(text);
	if (len < n)
		memcpy(out, text, len + 1);
	curl_free(text);
	return len < n;
}

bool
address_is_loopback(const char *host)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six);
	return strcasecmp(host, "localhost") == 0;
}

static enum status
take_url(struct address *a, CURLU *u, bool is_short, const char **why)
{
	char scheme[16], port[8], path[256], host[ADDRESS_HOST_MAX];
	char own[ADDRESS_HOST_MAX] = "";
	size_t n;
	int len;

	*why = "the URL is too long";
	if (!take_part(u, CURLUPART_SCHEME, scheme, sizeof(scheme)) ||
	    !take_part(u, CURLUPART_HOST, host, sizeof(host)) ||
	    !take_part(u, CURLUPART_PORT, port, sizeof(port)) ||
	    !take_part(u, CURLUPART_PATH, path, sizeof(path)))
		return E_MALFORMED;
	*why = "the scheme must be http, https or unix";
	if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
		return E_MALFORMED;
	if (port[0] == '\0' && is_short)
		memcpy(port, ADDRESS_PORT, sizeof(ADDRESS_PORT));
	for (n = strlen(path); n > 0 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	len = snprintf(a->base, sizeof(a->base), "%s://%s%s%s%s", scheme, host,
	    port[0] == '\0' ? "" : ":", port, path);
	*why = "the URL is too long";
	if (len < 0 || (size_t)len >= sizeof(a->base))
		return E_MALFORMED;
	n = strlen(host);
	if (host[0] == '[')
		snprintf(
		    a->host, sizeof(a->host), "%.*s", (int)n - 2, host + 1);
	else
		memcpy(a->host, host, n + 1);
	a->is_local = address_is_loopback(a->host) ||
		      (gethostname(own, sizeof(own) - 1) == 0 &&
			  strcasecmp(a->host, own) == 0);
	return OK;
}

enum status
address_unix(struct address *a, const char *path)
{
	const size_t n = strlen(path);

	*a = (struct address){ .base = "http://localhost", .is_local = true };
	if (n == 0 || n >= sizeof(a->unix_path))
		return E_MALFORMED;
	memcpy(a->unix_path, path, n + 1);
	return OK;
}

enum status
address_parse(struct address *a, const char *text, const char **why)
{
	const bool is_short = strstr(text, "://") == NULL;
	char whole[600];
	enum status st;
	CURLU *u;

	*a = (struct address){ 0 };
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
		*why = "the path of the socket is empty or too long";
		return address_unix(a, text + strlen(UNIX_PREFIX));
	}
	*why = "the URL is too long";
	if (snprintf(whole, sizeof(whole), "%s%s", is_short ? "http://" : "",
		text) >= (int)sizeof(whole))
		return E_MALFORMED;
	u = curl_url();
	*why = "out of memory";
	if (u == NULL)
		return E_NOMEM;
	*why = "not http://HOST[:PORT] or unix:PATH";
	st = curl_url_set(u, CURLUPART_URL, whole, CURLU_NON_SUPPORT_SCHEME) ==
		     CURLUE_OK
		 ? take_url(a, u, is_short, why)
		 : E_MALFORMED;
	curl_url_cleanup(u);
	return st;
}
