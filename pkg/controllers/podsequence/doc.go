// Package podsequence is the controller of PodSequences. It tells in their status how far they have come, and lifts the
// gates of pods that other schedulers place.
//
// What a PodSequence means is not decided here but by the engine of package sequence, the same as in the scheduler. All
// there is to do is to pass on what the engine says changed: sequences to the status reconciler, pods to the writer.
package podsequence
