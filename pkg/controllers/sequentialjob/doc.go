// Package sequentialjob is the controller of SequentialJobs: it runs the containers of each one after another, each by a
// Job of its own.
//
// A pass gathers what is known of an object (gather.go), decides (decide.go), and applies what was decided
// (reconciler.go): at most a write to the Job of the step it is at, then one of status, then the events that tell of it.
// The decision is a pure function. What keeps it right whenever the process ends, and however old the caches are:
//
//   - The name of a step's Job follows from the object's name and the step's index, so a Job that was created, but not
//     yet noted, is found and not created again.
//   - Nothing is written to Jobs from an old copy of the object: its version is compared with the API server's first.
//     Status is written only over the version that it was worked out from.
//   - That a step is completed is noted in status, and follows as well from there being a Job of a later step.
//   - A Job that counts no more, because its step is to run again, is named in status before it is deleted.
package sequentialjob
