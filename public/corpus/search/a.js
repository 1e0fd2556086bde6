(window.storeSearch = window.storeSearch || {})["corpus/search/a.json"] = {
  "format": "store-search-shard/v1",
  "shard": "a",
  "prefix": "a",
  "hosts": [
    {
      "host": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddd.long.street",
      "at": 0,
      "path": "/corpus/host/h-cf32d9b16ce1a2755a4ed57788110d3eaf825fc7f3422905d287051ba3b918c8",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "almanac.mill.street",
      "at": 0,
      "path": "/corpus/host/almanac.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "anchor.hill.street",
      "at": 0,
      "path": "/corpus/host/anchor.hill.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "arch.gate.street",
      "at": 0,
      "path": "/corpus/host/arch.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "atlas.mill.street",
      "at": 0,
      "path": "/corpus/host/atlas.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    }
  ]
};
