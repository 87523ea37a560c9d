package site

import "example.com/podsequence/tools/sandbox/realnode"

// RealNodeNames are the names of so many real nodes.
func RealNodeNames(count int) (names []string) {
	for i := range count {
		names = append(names, realnode.NodeName(i))
	}
	return names
}

// RealNodes are the names of the nodes with kubelets and containers.
func (s *Site) RealNodes() []string { return s.realNodes }
