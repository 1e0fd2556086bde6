package shop

import (
	"net/http"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/mcp"
	"store.example/agentstore/dynamic/till"
)

// openDoors opens the doors for agents that speak MCP, whose calls the server answers in process.
func (s *Shop) openDoors(sells *counter.Counter) (*mcp.Doors, error) {
	return mcp.New(mcp.Config{BaseURL: s.Config.BaseURL, Site: s.Site, Routes: API(), Documents: api.Documents,
		Serve: func(w http.ResponseWriter, r *http.Request) { s.Server.Again(w, r) },
		Buy:   sells.Buy, Away: sells.Away, Timeout: sells.BuyTime(), Log: s.Log,
		Pages: func(path string) (string, bool) {
			id, site := strings.TrimPrefix(path, "/"), s.Site.Now()
			_, ok := site.Issue(id)
			return id, ok || id == till.PorchLine && site.Porch.Open()
		}})
}
