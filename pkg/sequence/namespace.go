package sequence

// place works out the pod's memberships from its name and labels.
func (n *namespace) place(p *pod) []membership {
	var memberships []membership
	for s := range n.selecting {
		if m, ok := s.place(p); ok {
			memberships = append(memberships, m)
		}
	}
	for s := range n.naming[p.name] {
		if _, done := n.selecting[s]; done {
			continue
		}
		if m, ok := s.place(p); ok {
			memberships = append(memberships, m)
		}
	}
	return memberships
}

// update turns p into view. Sums are kept by taking the old state out and entering the new; memberships are worked out
// anew only if they may have changed.
func (n *namespace) update(p, view *pod, replace bool) {
	memberships := p.memberships
	if p.uid == view.uid {
		view.firstVersion = p.firstVersion
	}
	for _, m := range memberships {
		if replace {
			m.leave(p)
		} else {
			m.count(p, -1)
		}
	}
	*p = *view
	if replace {
		memberships = n.place(p)
	}
	p.memberships = memberships
	for _, m := range memberships {
		if replace {
			m.join(p)
		} else {
			m.count(p, +1)
		}
	}
}

// drop takes the pod out of the sequence.
func (p *pod) drop(s *sequence) {
	for i, m := range p.memberships {
		if m.sequence == s {
			m.leave(p)
			p.memberships = append(p.memberships[:i:i], p.memberships[i+1:]...)
			return
		}
	}
}

func (e *Engine) namespaceFor(name string) *namespace {
	ns := e.namespaces[name]
	if ns == nil {
		ns = &namespace{
			pods:      map[string]*pod{},
			selecting: map[*sequence]struct{}{},
			naming:    map[string]map[*sequence]struct{}{},
		}
		e.namespaces[name] = ns
	}
	return ns
}

func (e *Engine) forgetIfEmpty(name string, ns *namespace) {
	if len(ns.pods) == 0 && len(ns.selecting) == 0 && len(ns.naming) == 0 {
		delete(e.namespaces, name)
	}
}

// list makes the sequence known to its namespace.
func (e *Engine) list(s *sequence) *namespace {
	e.sequences[s.key] = s
	ns := e.namespaceFor(s.namespace)
	if s.selects() {
		ns.selecting[s] = struct{}{}
	}
	for name := range s.byName {
		if ns.naming[name] == nil {
			ns.naming[name] = map[*sequence]struct{}{}
		}
		ns.naming[name][s] = struct{}{}
	}
	return ns
}

// unlist undoes list.
func (e *Engine) unlist(s *sequence) {
	delete(e.sequences, s.key)
	ns := e.namespaces[s.namespace]
	delete(ns.selecting, s)
	for name := range s.byName {
		delete(ns.naming[name], s)
		if len(ns.naming[name]) == 0 {
			delete(ns.naming, name)
		}
	}
	e.forgetIfEmpty(s.namespace, ns)
}
