// Package inventory is what the API server said, as far as a PodSequence looks at it: pods, workloads and nodes as plain
// facts. It has no rule and no lock.
//
// The words: a workload is an object that owns pods and says how many there should be. A fact is a value that was read from
// an object. What facts share with the object that they came from is read only.
//
// A new kind of workload is a row in the table of kinds.go and one function that reads its facts.
package inventory
