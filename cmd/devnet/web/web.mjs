// web.mjs markup DIR | shared DIR | lighthouse SKIPPED CATEGORIES THROTTLING URL… holds pages against checkers that are
// not ours, and prints what they find as JSON.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [what, ...args] = process.argv.slice(2);
const pages = (dir) => readdirSync(dir, { recursive: true }).filter((f) => f.endsWith(".html")).sort();

const rules = {
  root: true, extends: ["html-validate:recommended"],
  rules: {
    "doctype-style": ["error", { style: "lowercase" }],
    "valid-id": ["error", { relaxed: true }], // a week is a good name of its part, and HTML's own rule is the relaxed one
    "long-title": "off", // a title is as long as the name of what the page is about
  },
};

const checks = {
  // markup holds every page below a folder against html-validate.
  async markup(dir) {
    const { HtmlValidate, StaticConfigLoader } = await import("html-validate");
    const checker = new HtmlValidate(new StaticConfigLoader(rules));
    const found = [];
    for (const name of pages(dir)) {
      const report = await checker.validateString(readFileSync(join(dir, name), "utf8"), name);
      for (const r of report.results) for (const m of r.messages) found.push(`${name}:${m.line}:${m.column} ${m.ruleId}: ${m.message}`);
    }
    return found;
  },
  // shared holds the pages below a folder that are meant to be found against what OpenGraph asks for, and what they
  // say in the words of schema.org against those words. The names that X has for the same tags are not asked for: it
  // reads OpenGraph's where they lack.
  async shared(dir) {
    const { structuredDataTest } = (await import("structured-data-testing-tool")).default;
    const { Facebook } = (await import("structured-data-testing-tool/presets.js")).default;
    const found = [];
    for (const name of pages(dir)) {
      const html = readFileSync(join(dir, name), "utf8");
      if (/<meta name="robots" content="noindex">/.test(html)) continue;
      const said = await structuredDataTest(html, { presets: [Facebook] }).catch((e) => e.res);
      if (!said) throw new Error(name);
      for (const f of said.failed) found.push(`${name}: ${f.test}: ${f.description}`);
    }
    return found;
  },
  async lighthouse(skipped, categories, throttlingMethod, ...urls) {
    const { default: lighthouse } = await import("lighthouse");
    const { launch } = await import("chrome-launcher");
    const chrome = await launch({ chromeFlags: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] });
    const out = [];
    try {
      for (const url of urls) {
        const { lhr } = await lighthouse(url, { port: chrome.port, logLevel: "error" }, { extends: "lighthouse:default",
          settings: { onlyCategories: categories.split(","), skipAudits: skipped.split(","), throttlingMethod, ignoreStatusCode: true } });
        if (lhr.runtimeError) throw new Error(`${url}: ${lhr.runtimeError.message}`);
        for (const c of Object.values(lhr.categories)) {
          const less = c.auditRefs.map(({ id, weight }) => ({ ...lhr.audits[id], weight })).filter((a) => a.weight > 0 && a.score !== null && a.score < 1)
            .map((a) => `${a.id} ${a.score} ${a.displayValue ?? ""} ${JSON.stringify(a.details?.items?.slice(0, 5) ?? "").slice(0, 600)}`);
          out.push({ url, category: c.id, score: c.score === null ? -1 : Math.round(100 * c.score), less });
        }
      }
    } finally {
      chrome.kill();
    }
    return out;
  },
};

console.log(JSON.stringify(await checks[what](...args)));
