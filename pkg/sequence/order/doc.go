// Package order is a PodSequence made ready for questions: which group a pod belongs to, what each group requires, which
// groups come before which, and what of the spec makes no sense.
//
// A Sequence follows from one version of the spec alone and never changes. How far it has come is not known here.
//
// The words: a group is one entry of spec.podGroups. Its predecessors are the groups that must be passed before its pods
// may be scheduled. Its hash stands for its definition and that of its predecessors. A problem is a part of the spec that
// keeps the sequence from doing what the rest says.
package order
