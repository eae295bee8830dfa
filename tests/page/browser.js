// SPDX-License-Identifier: MIT
// Chromium for a test: a line of JSON on standard input is done, and answered by
// one on standard output. usage: node browser.js NODE_MODULES CHROMIUM
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");

const [modules, chromiumPath] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const axe = fs.readFileSync(path.join(modules, "axe-core/axe.min.js"), "utf8");
const TIMEOUT_MS = 20000;

let browser, client, context, page, logs, requests;

const operations = {
	// A profile of its own, which is empty.
	async open({ url, width, height, scheme, script }) {
		await context?.close();
		context = await browser.newContext({ viewport: { width, height },
			colorScheme: scheme, javaScriptEnabled: script, reducedMotion: "reduce" });
		await context.grantPermissions(["clipboard-read", "clipboard-write"]);
		page = await context.newPage();
		logs = [];
		requests = [];
		page.setDefaultTimeout(TIMEOUT_MS);
		page.on("console", message => ["error", "warning"].includes(message.type()) && logs.push(message.text()));
		page.on("pageerror", error => logs.push(String(error.stack)));
		page.on("dialog", dialog => logs.push("dialog: " + dialog.message()));
		page.on("request", request => requests.push(request.url()));
		await page.goto(url, { waitUntil: "load" });
		client = await context.newCDPSession(page);
		await client.send("Performance.enable", { timeDomain: "threadTicks" });
	},
	// CPU time of the page until now.
	async cpu() {
		const { metrics } = await client.send("Performance.getMetrics");
		const used = ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"];
		return 1000 * metrics.filter(one => used.includes(one.name)).reduce((sum, one) => sum + one.value, 0);
	},
	evaluate: ({ code }) => page.evaluate(code),
	// page.waitForFunction() needs an eval() that the page's policy forbids.
	async wait({ code }) {
		const until = Date.now() + TIMEOUT_MS;
		while (!await page.evaluate(code)) {
			if (Date.now() > until)
				throw new Error("never: " + code);
			await page.waitForTimeout(50);
		}
	},
	click: ({ selector }) => page.click(selector),
	fill: ({ selector, text }) => page.fill(selector, text),
	select: ({ selector, text }) => page.selectOption(selector, text).then(() => null),
	press: ({ key }) => page.keyboard.press(key),
	size: ({ width, height }) => page.setViewportSize({ width, height }),
	scheme: ({ scheme }) => page.emulateMedia({ colorScheme: scheme }),
	shot: ({ to }) => page.screenshot({ path: to }).then(() => null),
	seen: async () => ({ logs, requests }),
	// What axe-core finds: [rule, element, why].
	async axe() {
		await page.evaluate(axe + "; null");
		const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
		return violations.flatMap(rule => rule.nodes.map(node => [rule.id, node.html, node.failureSummary]));
	},
};

async function main() {
	browser = await chromium.launch({ executablePath: chromiumPath, args: ["--headless",
		"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync"] });
	console.log(JSON.stringify({ value: browser.version() }));
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const { operation, ...rest } = JSON.parse(line);
		let answer;
		try {
			answer = { value: await operations[operation](rest) ?? null };
		} catch (error) {
			answer = { error: String(error.message) };
		}
		console.log(JSON.stringify(answer));
	}
	await browser.close();
}
main().catch(error => {
	console.log(JSON.stringify({ error: String(error.message) }));
	process.exit(1);
});
