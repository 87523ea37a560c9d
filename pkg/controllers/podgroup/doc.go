// Package podgroup is the controller of pod groups: it labels the pods of a group once all of them run.
//
// Pods of one namespace with the same value of the name label form a group. Work is done by group, not by pod: a reconcile
// gathers what the caches say of a group (reconciler.go), decides by pure functions (decide.go, jobset.go), and queues the labels, which are written for one pod of each namespace in turn (label.go). Nothing is stored but
// the labels, and for which group they were given; everything else is worked out anew.
//
// A label is permanent, so it is not given by mistake: the pods of a group come from one watch, whose cache always is a
// state that the API server had at some moment; and what the other watches have not brought yet - an owner, a PodGroup - is
// asked for before the first label.
package podgroup
