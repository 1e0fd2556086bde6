(window.storeSearch = window.storeSearch || {})["corpus/search/j.json"] = {
  "format": "store-search-shard/v1",
  "shard": "j",
  "prefix": "j",
  "hosts": [
    {
      "host": "jar.hill.street",
      "at": 0,
      "path": "/corpus/host/jar.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "jetty.quay.street",
      "at": 0,
      "path": "/corpus/host/jetty.quay.street",
      "line": "observed — 3 of 4, W43–W46"
    },
    {
      "host": "index.json.street",
      "at": 6,
      "path": "/corpus/host/index.json.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
