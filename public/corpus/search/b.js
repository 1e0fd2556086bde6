(window.storeSearch = window.storeSearch || {})["corpus/search/b.json"] = {
  "format": "store-search-shard/v1",
  "shard": "b",
  "prefix": "b",
  "hosts": [
    {
      "host": "bakery.mill.street",
      "at": 0,
      "path": "/corpus/host/bakery.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "barrel.hill.street",
      "at": 0,
      "path": "/corpus/host/barrel.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddd.long.street",
      "at": 64,
      "path": "/corpus/host/h-cf32d9b16ce1a2755a4ed57788110d3eaf825fc7f3422905d287051ba3b918c8",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "xn--bcher-kva.street",
      "at": 4,
      "path": "/corpus/host/xn--bcher-kva.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "bell.mill.street",
      "at": 0,
      "path": "/corpus/host/bell.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "bridge.quay.street",
      "at": 0,
      "path": "/corpus/host/bridge.quay.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
