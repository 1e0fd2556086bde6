package street

// Visits is how often a host's door was knocked on: requests with GET, and for doors that are wrong
// before there is a request, connections that came so far. Other paths of a host and second
// requests with POST are not counted.
func (s *Street) Visits(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visits[host]
}

// ByConnection reports whether a host's visits are connections, because its door is wrong before
// there is a request: then the reading of its own file is one, too.
func (s *Street) ByConnection(host string) bool {
	d := s.find(host)
	return d != nil && (d.wire != nil || d.conn != nil)
}

func (s *Street) visited(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits[host]++
}
