(window.storeSearch = window.storeSearch || {})["corpus/search/y.json"] = {
  "format": "store-search-shard/v1",
  "shard": "y",
  "prefix": "y",
  "hosts": [
    {
      "host": "yard.gate.street",
      "at": 0,
      "path": "/corpus/host/yard.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "yarn.hill.street",
      "at": 0,
      "path": "/corpus/host/yarn.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    }
  ]
};
