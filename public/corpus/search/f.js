(window.storeSearch = window.storeSearch || {})["corpus/search/f.json"] = {
  "format": "store-search-shard/v1",
  "shard": "f",
  "prefix": "f",
  "hosts": [
    {
      "host": "ferry.mill.street",
      "at": 0,
      "path": "/corpus/host/ferry.mill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "flask.hill.street",
      "at": 0,
      "path": "/corpus/host/flask.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "fog.quay.street",
      "at": 0,
      "path": "/corpus/host/fog.quay.street",
      "line": "broken — 0 of 4, W43–W46"
    }
  ]
};
