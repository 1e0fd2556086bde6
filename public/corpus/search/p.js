(window.storeSearch = window.storeSearch || {})["corpus/search/p.json"] = {
  "format": "store-search-shard/v1",
  "shard": "p",
  "prefix": "p",
  "hosts": [
    {
      "host": "paper.dock.street",
      "at": 0,
      "path": "/corpus/host/paper.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "post.gate.street",
      "at": 0,
      "path": "/corpus/host/post.gate.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
