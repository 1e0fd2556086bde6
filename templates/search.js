// Finds goods and pages in their index, by the rule of content/api, and hosts from static files: the names of the shards
// first, then only the shards that can hold what was typed. On the page of an unknown address it looks for its words. It
// works wherever the folder is served. From a folder that is opened without a server browsers read no data, but they do
// run scripts, so that each file of the index stands there as a script as well.
(() => {
  // What a text says in words: letters and digits in lower case, a plural's s cut off.
  const wordsOf = (text) => [...new Set(text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean)
    .map((word) => word.length > 3 ? word.replace(/s$/, "") : word))].slice(0, 8);
  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // it stands as it was typed
    }
  };
  const lost = document.getElementById("lost");
  if (lost) lost.href = "/search?q=" + wordsOf(decoded(location.pathname)).map(encodeURIComponent).join("+");
  const field = document.getElementById("host"), found = document.getElementById("found"), hits = document.getElementById("hits");
  if (!field || !window.fetch) return;
  const most = 40, files = 4, bytes = new TextEncoder();
  const here = document.currentScript ? document.currentScript.src : "/search.js";
  const root = new URL(".", here);
  const folder = root.protocol === "file:";
  const get = async (path) => {
    const answer = await fetch(new URL(path, root));
    if (!answer.ok) throw new Error(path + " answers " + answer.status);
    return answer.json();
  };
  const run = (path) => new Promise((take, refuse) => {
    const script = document.createElement("script");
    script.src = new URL(path.replace(/json$/, "js"), root);
    script.onload = () => take(window.storeSearch[path]);
    script.onerror = () => refuse(new Error(path + " is not there"));
    document.head.append(script);
  });
  const held = new Map();
  const read = (path) => {
    if (!held.has(path)) {
      held.set(path, (folder ? run : get)(path).catch((err) => { held.delete(path); throw err; }));
    }
    return held.get(path);
  };
  const plain = /[a-z0-9-]/;
  const name = (text) => Array.from(bytes.encode(text), (b) => {
    const c = String.fromCharCode(b);
    return b < 128 && plain.test(c) ? c : "_" + b.toString(16).padStart(2, "0");
  }).join("");
  const ascii = /^[\x20-\x7e]*$/;
  // What was typed, as hosts stand in the record: no address around it, no dot at its end, its ASCII form.
  const asked = () => {
    const text = field.value.trim().toLowerCase().replace(/^[a-z]+:\/\//, "").replace(/[/:?#].*$/, "").replace(/\.+$/, "");
    if (ascii.test(text)) return text;
    try {
      return new URL("https://" + text).hostname;
    } catch {
      return text;
    }
  };
  const form = field.closest("[role=search]"), pages = "pages" in form.dataset;
  // What a page says and what of it is looked for, lower once.
  const lowered = (page) => page.lower ??= [page.title, page.summary || "", ...(page.parts || []).flatMap((part) => [part.title || "", part.text || ""])]
    .map((text) => text.toLowerCase());
  const count = (tests, ...texts) => tests.filter((test) => texts.some((text) => test.test(text))).length;
  const weight = (texts, test) => (test.test(texts[0]) && 8) + (test.test(texts[1]) && 3) +
    (texts.some((text, i) => i > 1 && i % 2 === 0 && test.test(text)) && 4) +
    (texts.some((text, i) => i > 1 && i % 2 === 1 && test.test(text)) && 1);
  const excerpt = (text, place) => {
    const start = place > 60 ? place - 60 + text.slice(place - 60, place).indexOf(" ") + 1 : 0;
    const blank = text.lastIndexOf(" ", start + 180), end = start + 180 >= text.length ? text.length : blank > start ? blank : start + 180;
    return (start > 0 ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
  };
  // own are the goods and pages that have most of the words that were typed.
  const own = (index) => {
    const tests = wordsOf(field.value).map((word) => new RegExp("(?<![\\p{L}\\p{N}])" + word, "u"));
    const found = index.pages.map((page) => {
      const weights = tests.map((test) => weight(lowered(page), test));
      return { page, words: weights.filter(Boolean).length, score: weights.reduce((a, b) => a + b, 0) };
    }).filter((f) => f.words > 0).sort((a, b) => b.words - a.words || b.score - a.score);
    return found.filter((f) => f.words === found[0].words).map(({ page }) => {
      const texts = lowered(page);
      let best = -1, most = count(tests, texts[0], texts[1]) * 2;
      for (const i of (page.parts || []).keys()) {
        const n = count(tests, texts[2 + 2 * i], texts[3 + 2 * i]) * 2 + Math.min(1, count(tests, texts[2 + 2 * i]));
        if (n > most) [best, most] = [i, n];
      }
      const part = page.parts?.[best], text = part?.text || "";
      const places = tests.map((test) => texts[3 + 2 * best]?.search(test) ?? -1).filter((at) => at >= 0);
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = new URL((page.path.slice(1) || ".") + (folder ? "/index.html" : ""), root).pathname + (part?.at ? "#" + part.at : "");
      link.textContent = page.title + (part?.title ? " › " + part.title : "");
      item.append(link, ": " + (part ? excerpt(text, places.length ? Math.min(...places) : 0) : page.summary || ""));
      return item;
    });
  };
  let turn = 0;
  const search = async () => {
    const text = asked(), mine = ++turn;
    if (!text) {
      found.textContent = "";
      hits.replaceChildren();
      return;
    }
    let copies = [], told = "";
    try {
      if (pages) {
        const here = own(await read("search/pages.json"));
        if (mine !== turn) return;
        copies = here.slice(0, most);
        told = (here.length || "No") + (here.length === 1 ? " good or page. " : " goods and pages. ");
      }
      const head = await read("corpus/search.json");
      const key = name(text);
      const wanted = head.shards.filter((shard) => key.startsWith(shard)).slice(-1).concat(head.shards.filter((shard) => shard.startsWith(key) && shard !== key));
      const parts = await Promise.all(wanted.slice(0, files).map((shard) => read("corpus/search/" + shard + ".json")));
      if (mine !== turn) return;
      const seen = new Map();
      let more = wanted.length > files;
      for (const part of parts) {
        more = more || part.more > 0;
        for (const hit of part.hosts) {
          if (hit.host.startsWith(text, hit.at)) seen.set(hit.host, hit);
        }
      }
      const list = Array.from(seen.values()).sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : 0));
      hits.replaceChildren(...copies, ...list.slice(0, most).map((hit) => {
        const item = document.createElement("li"), link = document.createElement("a");
        link.href = new URL(hit.path.slice(1) + (folder ? "/index.html" : ""), root).pathname;
        link.textContent = hit.host;
        item.append(link, ": " + hit.line);
        return item;
      }));
      const shown = Math.min(list.length, most);
      found.textContent = told + (list.length === 0 && !more ? "No host of " + head.hosts + " begins like that, nor does a part of one." +
          (ascii.test(field.value) ? "" : " A name in another script is found once each of its parts is typed whole.")
        : shown === list.length && !more ? shown + " of " + head.hosts + " hosts."
        : "The first " + shown + ", of " + head.hosts + " hosts in all. Type more of the name.");
    } catch (err) {
      if (mine !== turn) return;
      hits.replaceChildren(...copies);
      found.textContent = told + "The index could not be read: " + err.message + (pages ? "." : ". The lists by name below have every host.");
    }
  };
  field.addEventListener("input", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", (folder ? "#q=" : "?q=") + encodeURIComponent(field.value));
    search();
  });
  // What is asked for in the address, behind ? or behind #.
  const given = decoded(location.hash.slice(1));
  const query = given.startsWith("q=") ? given.slice(2) : new URLSearchParams(location.search).get("q");
  if (!query && !field.value) found.textContent = "";
  if (query) {
    field.value = query;
    search();
  }
})();
