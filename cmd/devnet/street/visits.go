package street

// Visits is how often a host's door was knocked on: requests with GET, and for doors that are wrong before there is a
// request, connections that came so far. Other paths of a host and second requests with POST are not counted.
func (s *Street) Visits(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visits[host]
}

func (s *Street) visited(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits[host]++
}
