/* SPDX-License-Identifier: MIT */
/*
 * A Kafka cluster for tests: three brokers of librdkafka's mock on loopback
 * ports. Prints their addresses, then obeys lines of standard input until it
 * ends, and prints "ok" for each:
 *
 *	topic NAME PARTITIONS
 *	down BROKER, up BROKER		0: all of them
 *	rtt BROKER MS			how long answers take
 *	fail API N CODE			the next N requests of that kind
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#define BROKERS 3

static void
push_errors(rd_kafka_mock_cluster_t *m, int api, int n, int code)
{
	const rd_kafka_resp_err_t e = code;

	while (n-- > 0)
		rd_kafka_mock_push_request_errors_array(m, (int16_t)api, 1, &e);
}

static bool
obey(rd_kafka_mock_cluster_t *m, const char *line)
{
	char name[256];
	int a, b, c;

	if (sscanf(line, "topic %255s %d", name, &a) == 2)
		return rd_kafka_mock_topic_create(m, name, a, BROKERS) == 0;
	if (sscanf(line, "down %d", &a) == 1)
		return rd_kafka_mock_broker_set_down(m, a == 0 ? -1 : a) == 0;
	if (sscanf(line, "up %d", &a) == 1)
		return rd_kafka_mock_broker_set_up(m, a == 0 ? -1 : a) == 0;
	if (sscanf(line, "rtt %d %d", &a, &b) == 2)
		return rd_kafka_mock_broker_set_rtt(m, a == 0 ? -1 : a, b) == 0;
	if (sscanf(line, "fail %d %d %d", &a, &b, &c) == 3) {
		push_errors(m, a, b, c);
		return true;
	}
	return false;
}

int
main(void)
{
	char why[512], line[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_mock_cluster_t *m;
	rd_kafka_t *rk;

	/* The client that the library wants a cluster to belong to. */
	rd_kafka_conf_set_log_cb(conf, NULL);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
	if (rk == NULL || (m = rd_kafka_mock_cluster_new(rk, BROKERS)) == NULL)
		errx(1, "no cluster");
	printf("%s\n", rd_kafka_mock_cluster_bootstraps(m));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (!obey(m, line))
			errx(1, "cannot obey: %s", line);
		printf("ok\n");
		fflush(stdout);
	}
	rd_kafka_mock_cluster_destroy(m);
	rd_kafka_destroy(rk);
	return 0;
}
