(window.storeSearch = window.storeSearch || {})["corpus/search/c.json"] = {
  "format": "store-search-shard/v1",
  "shard": "c",
  "prefix": "c",
  "hosts": [
    {
      "host": "candle.hill.street",
      "at": 0,
      "path": "/corpus/host/candle.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.ddddddddddddddddddddddddddddddddddddddddddddddddd.long.street",
      "at": 128,
      "path": "/corpus/host/h-cf32d9b16ce1a2755a4ed57788110d3eaf825fc7f3422905d287051ba3b918c8",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "chart.mill.street",
      "at": 0,
      "path": "/corpus/host/chart.mill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "compass.mill.street",
      "at": 0,
      "path": "/corpus/host/compass.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "crane.quay.street",
      "at": 0,
      "path": "/corpus/host/crane.quay.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
