package sequence

// VersionsIncomparable tells the engine that resource versions of different kinds cannot be compared, because the API server
// keeps some kinds in an etcd of their own. It cannot be taken back.
func (e *Engine) VersionsIncomparable() {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.split = true
}
