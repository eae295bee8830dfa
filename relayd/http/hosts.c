/* SPDX-License-Identifier: MIT */
#include "relayd/http/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 255

/* Copy the name without its port and brackets. False: it cannot be one. */
static bool
copy_name(char name[NAME_MAX_LEN + 1], const char *host)
{
	const bool has_brackets = *host == '[';
	size_t n;

	host += has_brackets;
	n = strcspn(host, has_brackets ? "]" : ":");
	if (n == 0 || n > NAME_MAX_LEN || (has_brackets && host[n] != ']'))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	host += n + has_brackets;
	return *host == '\0' ||
	       (*host == ':' &&
		   host[1 + strspn(host + 1, "0123456789")] == '\0');
}

static bool
is_address(const char *name, const struct sockaddr *a)
{
	const struct sockaddr_in6 *in6 = (const void *)a;
	const struct sockaddr_in *in = (const void *)a;
	unsigned char got[16];

	if (a == NULL)
		return false;
	if (a->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
	    inet_pton(AF_INET, name, got) == 1)
		return memcmp(got, &in6->sin6_addr.s6_addr[12], 4) == 0;
	if (a->sa_family == AF_INET)
		return inet_pton(AF_INET, name, got) == 1 &&
		       memcmp(got, &in->sin_addr, 4) == 0;
	return a->sa_family == AF_INET6 &&
	       inet_pton(AF_INET6, name, got) == 1 &&
	       memcmp(got, &in6->sin6_addr, 16) == 0;
}

bool
host_is_ours(const char *host, const struct sockaddr *local,
    const char *const *names, unsigned n)
{
	char name[NAME_MAX_LEN + 1];

	if (host == NULL || !copy_name(name, host))
		return false;
	if (strcasecmp(name, "localhost") == 0 || is_address(name, local))
		return true;
	for (unsigned i = 0; i < n; i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}
