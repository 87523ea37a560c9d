// Package objectwatch watches the objects that groups of sequences wait for, of whatever kind, and says how they are.
//
// There is one watch for each kind and namespace that a sequence names, and none else. It keeps nothing of an object but what
// package objects says of it, and that only of objects that a sequence names. Sequences of one namespace may have watches of a limited
// number of kinds, so that nobody takes the memory and the requests of the others.
//
// What may be in the way, and how the watch goes on:
//
//   - The kind is not served. The objects are NotReadable until a watch of all CustomResourceDefinitions, of which only metadata
//     is read, brings a change of the kind's API group. A kind that is replaced, or served in another way, is noticed alike.
//   - The controller may not list or watch the kind. The objects are NotReadable until the ClusterRole changes that aggregates what
//     the controller may read.
//   - Anything else, such as a conversion that fails. What was seen before still counts, and the watch is tried again. An object
//     that has not been seen yet is not satisfied.
//
// In the first two cases the watch is also tried again after a pause that grows to five minutes: aggregated API servers announce
// their kinds to nobody, and roles can also be bound in other ways.
package objectwatch
