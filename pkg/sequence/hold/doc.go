// Package hold decides whether a sequence holds a pod. It is the only place that knows what a dry run, a suspension, the scope and the
// groups before mean for that. Its rules are functions of facts, which the engine gathers in one place, see judge.go there.
package hold
