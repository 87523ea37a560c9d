package sequence

// VersionsIncomparable tells the engine that resource versions of different kinds cannot be compared: they are not all
// stored in one etcd. That stays so. Versions of one kind can always be compared.
func (e *Engine) VersionsIncomparable() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.split = true
}
