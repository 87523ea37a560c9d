// Package snapshot holds what the API server says at one moment about sequences and what they order: the objects, and an engine
// of pkg/sequence that is told of them. All rules are asked of that engine. What may not be read is written down in Unread, and
// sequences whose pods may not be read are left out of the engine: of these only their status is known.
package snapshot
