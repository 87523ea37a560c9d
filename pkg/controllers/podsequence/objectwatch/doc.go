// Package objectwatch watches the objects that groups of sequences wait for, of whatever kind, and says how they are.
//
// There is one watch for each kind and namespace that a sequence names, and none else. Of each object it keeps what may be judged: its
// status, mostly. Sequences of one namespace may have watches of a limited number of kinds, so that nobody takes the memory and the
// requests of the others.
//
// What may be in the way, and how the watch goes on:
//
//   - The kind is not served. The objects are NotReadable.
//   - The controller may not list or watch the kind. The objects are NotReadable.
//   - Anything else, such as a conversion that fails. What was seen before still counts, and the watch is tried again. An object
//     that has not been seen yet is not satisfied.
//
// In the first two cases the kind is looked up again after a pause that grows to 30 seconds. To watch definitions and roles instead would
// not tell of all: aggregated API servers announce their kinds to nobody, and roles can be bound in many ways.
package objectwatch
