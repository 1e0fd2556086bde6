// Finds goods and pages in the lists of the page that it stands on, where there are any, and hosts from static files: the names of the shards first, then only the shards that can hold what was typed. It
// works wherever the folder is served. From a folder that is opened without a server browsers read no data, but they do
// run scripts, so that each file of the index stands there as a script as well.
(() => {
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
  const listed = "listed" in field.closest("[role=search]").dataset ? [...document.querySelectorAll("main > ul > li")] : [];
  // own are the goods and pages of which every word that was typed is said, first those whose names say the first.
  const own = () => {
    const words = field.value.trim().toLowerCase().split(/\s+/), has = (e, word) => e.textContent.toLowerCase().includes(word);
    const all = listed.filter((e) => words.every((word) => has(e, word))), named = all.filter((e) => has(e.firstElementChild, words[0]));
    return named.concat(all.filter((e) => !named.includes(e)));
  };
  let turn = 0;
  const search = async () => {
    const text = asked(), mine = ++turn;
    if (!text) {
      found.textContent = "";
      hits.replaceChildren();
      return;
    }
    const here = own(), copies = here.slice(0, most).map((e) => e.cloneNode(true));
    const told = listed.length ? (here.length || "No") + (here.length === 1 ? " good or page. " : " goods and pages. ") : "";
    try {
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
      found.textContent = told + "The index of hosts could not be read: " + err.message + (listed.length ? "." : ". The lists by name below have every host.");
    }
  };
  found.textContent = "";
  field.addEventListener("input", search);
  // What is asked for in the address, behind ? or behind #.
  let given = location.hash.slice(1);
  try {
    given = decodeURIComponent(given);
  } catch {
    // It stands as it was typed.
  }
  const query = given.startsWith("q=") ? given.slice(2) : new URLSearchParams(location.search).get("q");
  if (query) {
    field.value = query;
    search();
  }
})();
