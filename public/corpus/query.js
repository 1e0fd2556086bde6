// Puts questions in SQL to the database of a year: a worker runs SQLite and fetches the parts of the file that it
// needs, and this shows what it answers. What stands in the rows was written by strangers, and goes into the page as
// text alone.
(() => {
  const form = document.getElementById("question");
  if (!form || !window.Worker || !window.WebAssembly) return;
  const [sql, year, run, stop, said, found] = ["sql", "year", "run", "stop", "said", "found"]
    .map((id) => document.getElementById(id));
  form.hidden = false;
  document.getElementById("unscripted").hidden = true;

  const longest = 40; // of a word in a table, as in the other tables of the site
  const most = 100000; // letters of a question
  const make = (tag, text, attributes) => {
    const e = document.createElement(tag);
    e.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
    return e;
  };
  const size = (n) => {
    if (n < 1000) return n + " bytes";
    return n < 999500 ? Math.round(n / 1000) + " kB" : (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + " MB";
  };
  const many = (n, one) => n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s");
  const fetched = ([requests, bytes, all]) => !requests ? "nothing fetched, as all of it was here already" :
    many(requests, "request") + ", " + size(bytes) + " of " + size(all) + " fetched";

  // narrow is a text whose long words are shortened in the middle, so that none widens the table.
  const narrow = (text) => text.split(" ").map((word) => {
    const letters = [...word];
    if (letters.length <= longest) return word;
    return letters.slice(0, longest / 2 - 1).join("") + "…" + letters.slice(-longest / 2).join("");
  }).join(" ");
  const cell = (value, number, column) => {
    if (value === null) return make("td", "NULL", { class: number ? "num faint" : "faint" });
    const e = make("td", "", { class: number ? "num" : value.length > longest ? "said" : "nowrap" });
    const host = column === "host" && /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(value);
    const inner = host ? make("a", "", { href: "/corpus/host/" + value }) : e;
    inner.textContent = narrow(value);
    if (inner.textContent !== value) inner.title = value;
    if (host) e.append(inner);
    return e;
  };
  const beyond = {
    rows: " There are more, which are not shown: a LIMIT or a WHERE brings others.",
    text: " There are more, which are not shown, since these are long: ask for fewer columns.",
    columns: " It has more columns, which are not shown.",
  };
  const table = ({ columns, rows, numbers, more }) => {
    const head = make("tr", ""), body = make("tbody", "");
    columns.forEach((name, i) => {
      const th = make("th", narrow(name), { scope: "col" });
      if (numbers[i]) th.className = "num";
      if (th.textContent !== name) th.title = name;
      head.append(th);
    });
    for (const row of rows) {
      const line = make("tr", "");
      row.forEach((value, i) => line.append(cell(value, numbers[i], columns[i])));
      body.append(line);
    }
    const all = make("table", ""), thead = make("thead", "");
    const first = more === "rows" || more === "text" ? "The first " : "";
    thead.append(head);
    all.append(make("caption", first + many(rows.length, "row") + "." + (beyond[more] || "")), thead, body);
    const wide = make("div", "",
      { class: "wide", tabindex: "0", role: "group", "aria-label": "A table, which may scroll" });
    wide.append(all);
    return wide;
  };
  // Who pressed a button is led to the answer. Who types goes on typing.
  let typing = false;
  const lead = () => { if (!typing) document.getElementById("outcome").focus(); };
  const show = (answer) => {
    const head = make("h2", "The answer", { id: "outcome", tabindex: "-1" });
    if (answer.rows.length) {
      const { columns, rows } = answer, file = new Blob([JSON.stringify({ columns, rows }, null, 1) + "\n"],
        { type: "application/json" });
      const keep = make("p", "");
      keep.append(make("a", "Keep these rows", { download: "rows.json", href: URL.createObjectURL(file) }),
        " as JSON, each value as it is shown here.");
      found.replaceChildren(head, table(answer), keep);
    } else {
      const none = make("div", "", { class: "empty" });
      none.append(make("p", "No row fits the question."),
        make("p", "The names are as in the dictionary, and texts are compared letter by letter."));
      found.replaceChildren(head, none);
    }
    lead();
  };
  const fail = (why) => {
    said.textContent = "";
    found.replaceChildren(make("h2", "No answer", { id: "outcome", tabindex: "-1" }),
      make("p", why, { class: "money", role: "alert" }));
    lead();
  };
  const clear = () => {
    const old = found.querySelector("a[download]");
    if (old) URL.revokeObjectURL(old.href);
    found.replaceChildren();
  };

  let worker, asked = "", busy = false;
  const end = () => {
    busy = false;
    run.disabled = false;
    stop.hidden = true;
  };
  const drop = () => {
    if (worker) worker.terminate();
    worker = null;
  };
  const ask = () => {
    const database = "/corpus/bulk/rows-" + year.value + ".sqlite", began = Date.now();
    // A database that was open stays so, with the parts of it that are here.
    if (asked !== database) drop();
    asked = database;
    busy = true;
    run.disabled = true;
    stop.hidden = false;
    clear();
    said.textContent = worker ? "Asking." : "Starting SQLite.";
    worker = worker || new Worker("/corpus/query/worker.js");
    worker.onerror = (e) => {
      drop();
      end();
      fail("The program did not start: " + (e.message || "its file could not be read") + ". Load the page again.");
    };
    worker.onmessage = ({ data }) => {
      if (data.found || data.error) end();
      if (data.error) {
        if (!data.asked) drop();
        fail(data.error);
        return;
      }
      const seconds = (Date.now() - began) / 1000;
      if (!data.found) {
        said.textContent = "Asking: " + fetched(data.fetched) + " so far, " + Math.round(seconds) + " s.";
        return;
      }
      said.textContent = "Answered in " + seconds.toFixed(1) + " s: " + fetched(data.fetched) + "." +
        (data.whole && data.fetched[0] ? " It was fetched as a whole, because " + data.whole + "." : "");
      show(data.found);
    };
    worker.postMessage({ program: form.dataset.program, database, sql: sql.value });
  };
  const halt = () => {
    drop();
    end();
    said.textContent = "Stopped. There is no answer.";
  };
  stop.addEventListener("click", () => {
    halt();
    run.focus();
  });

  // The box shows all of a question, up to a screen of it.
  const fit = () => { sql.rows = Math.max(4, Math.min(16, sql.value.split("\n").length + 1)); };
  // The question stands in the address, behind the #, which no server is sent. One that is too long is refused, and an
  // address of its length would be too.
  const submit = () => {
    if (busy) return;
    const link = "#" + new URLSearchParams({ year: year.value, q: sql.value.slice(0, most + 1) });
    if (sql.value.length <= most && location.hash !== link) history.pushState(null, "", link);
    ask();
  };
  const fill = () => {
    const from = new URLSearchParams(location.hash.slice(1)), q = from.get("q"), of = from.get("year");
    if (q === null) return;
    const there = [...year.options].some((o) => o.value === of);
    // Back from another place of the page: the answer is still the one to this question.
    if (sql.value === q && (!there || year.value === of)) return;
    if (busy) halt();
    clear();
    if (there) year.value = of;
    if (q.length > most) {
      said.textContent = "The link has a question of more than " + most + " letters, which is not taken.";
      return;
    }
    sql.value = q;
    fit();
    // Somebody else's question may read all of the file, so that it is looked at before it is run.
    said.textContent = "The question came with the link. Run it to see the answer.";
  };
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    typing = false;
    submit();
  });
  sql.addEventListener("input", () => { typing = true; });
  sql.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    typing = true;
    submit();
  });
  for (const a of form.querySelectorAll("li a")) {
    a.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
      e.preventDefault();
      if (busy) return;
      sql.value = new URLSearchParams(a.hash.slice(1)).get("q");
      fit();
      typing = false;
      submit();
    });
  }
  window.addEventListener("popstate", fill);
  window.addEventListener("hashchange", fill);
  fit();
  fill();
})();
