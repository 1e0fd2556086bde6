(window.storeSearch = window.storeSearch || {})["corpus/search/d.json"] = {
  "format": "store-search-shard/v1",
  "shard": "d",
  "prefix": "d",
  "hosts": [
    {
      "host": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddd.long.street",
      "at": 192,
      "path": "/corpus/host/h-cf32d9b16ce1a2755a4ed57788110d3eaf825fc7f3422905d287051ba3b918c8",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "kettle.dock.street",
      "at": 7,
      "path": "/corpus/host/kettle.dock.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "lamp.dock.street",
      "at": 5,
      "path": "/corpus/host/lamp.dock.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "loom.dock.street",
      "at": 5,
      "path": "/corpus/host/loom.dock.street",
      "line": "indeterminate — 3 of 4, W43–W46"
    },
    {
      "host": "mirror.dock.street",
      "at": 7,
      "path": "/corpus/host/mirror.dock.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "needle.dock.street",
      "at": 7,
      "path": "/corpus/host/needle.dock.street",
      "line": "indeterminate — 3 of 4, W43–W46"
    },
    {
      "host": "oven.dock.street",
      "at": 5,
      "path": "/corpus/host/oven.dock.street",
      "line": "observed — 3 of 4, W43–W46"
    },
    {
      "host": "paper.dock.street",
      "at": 6,
      "path": "/corpus/host/paper.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "quill.dock.street",
      "at": 6,
      "path": "/corpus/host/quill.dock.street",
      "line": "observed — 2 of 4, W43–W46"
    },
    {
      "host": "radio.dock.street",
      "at": 6,
      "path": "/corpus/host/radio.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "salt.dock.street",
      "at": 5,
      "path": "/corpus/host/salt.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "tally.dock.street",
      "at": 6,
      "path": "/corpus/host/tally.dock.street",
      "line": "broken — 3 of 4, W43–W46"
    },
    {
      "host": "umbrella.dock.street",
      "at": 9,
      "path": "/corpus/host/umbrella.dock.street",
      "line": "broken — 2 of 4, W43–W46"
    },
    {
      "host": "vane.dock.street",
      "at": 5,
      "path": "/corpus/host/vane.dock.street",
      "line": "observed — 3 of 4, W43–W46"
    },
    {
      "host": "wick.dock.street",
      "at": 5,
      "path": "/corpus/host/wick.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "drum.hill.street",
      "at": 0,
      "path": "/corpus/host/drum.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    }
  ]
};
