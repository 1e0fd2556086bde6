(window.storeSearch = window.storeSearch || {})["corpus/search/l.json"] = {
  "format": "store-search-shard/v1",
  "shard": "l",
  "prefix": "l",
  "hosts": [
    {
      "host": "ladle.hill.street",
      "at": 0,
      "path": "/corpus/host/ladle.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "lamp.dock.street",
      "at": 0,
      "path": "/corpus/host/lamp.dock.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddd.long.street",
      "at": 242,
      "path": "/corpus/host/h-cf32d9b16ce1a2755a4ed57788110d3eaf825fc7f3422905d287051ba3b918c8",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "loom.dock.street",
      "at": 0,
      "path": "/corpus/host/loom.dock.street",
      "line": "indeterminate — 3 of 4, W43–W46"
    }
  ]
};
