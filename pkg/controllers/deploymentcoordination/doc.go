// Package deploymentcoordination is the controller of DeploymentCoordinations: it makes Deployments roll out one at a time.
//
// A reconcile gathers what the API says (gather.go), decides (decide.go), and applies the decision (apply.go). Decide is
// a pure function. Its one rule is that what is unpaused with pending template changes has the turn, and that nothing starts
// beside it. What follows from it:
//
//   - Deployments with pending changes are paused, but for the active one, those that somebody else has unpaused, and one
//     that was rolling when it came under coordination;
//   - when none is active, one that rolls out already becomes active, and else the one that has waited longest; those whose
//     pods a PodSequence would hold come last, and the active one gives its turn to others while they could go and it is held;
//   - the active one is unpaused, after it is on record that it is the active one, and after the others are paused: one that
//     cannot be paused rolls out, and so has the turn;
//   - it stays active until it has rolled out and its pods have been ready for minReadySeconds, or has failed and is skipped;
//   - what has nothing pending is not paused, and what its owner paused is left alone.
//
// The order of the writes keeps that true when the controller is killed between any two of them. All it needs to know
// after a restart is in the API: who is active and since when in status, who paused a Deployment in its annotations.
package deploymentcoordination
