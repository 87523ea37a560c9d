// Package kueue is the controller of Kueue's AdmissionChecks of the name podsequence.example.com/sequence. Such a check keeps quota from
// Workloads until it is the turn of their pods: while a PodSequence would hold the pods of a Workload, the Workload is not admitted.
//
// Kueue asks checks only once it has reserved quota, and gives the quota back when a check says Retry. So the check of a Workload that must
// wait says Retry, also before Kueue reserves quota: then Kueue does not reserve any. What says Retry would stay in the queue, and a queue
// of the strategy StrictFIFO would stop there. So the Workload is taken out of the queue as well, by the condition Requeued, in the way in
// which Kueue takes out the Workloads of a queue that is stopped. When its turn has come, one write makes the check Ready and puts the
// Workload back into the queue.
//
// All Workloads of a namespace are looked at together (reconcile.go), because they may wait for each other (deadlock.go). What is to be
// written is a pure function of a Workload and of its turn (decide.go), and whose turn it is, is decided by package sequence alone.
//
// Of Kueue's API this package has what it reads, in types of its own (api.go): Kueue's module requires other versions of Kubernetes' modules.
package kueue
