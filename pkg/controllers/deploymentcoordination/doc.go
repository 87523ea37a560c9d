// Package deploymentcoordination is the controller of DeploymentCoordinations: it has Deployments roll out one at a time.
//
// A reconcile gathers what the API says (gather.go), decides (decide.go), and applies the decision (apply.go). Decide is
// a pure function, and what it returns is one rule written in five parts:
//
//   - Deployments with pending template changes are paused, but for the active one;
//   - when none is active, the first by name of those that wait becomes active; those whose pods a PodSequence would hold
//     come last, and the active one gives its turn to others while they could go and it is held;
//   - the active one is unpaused, after it is on record that it is the active one, and after the others are paused;
//   - it stays active until it has rolled out and has been ready for minReadySeconds, or has failed and is skipped;
//   - what has nothing pending is not paused, and what its owner paused is left alone.
//
// The order of the writes keeps that true when the controller is killed between any two of them. All it needs to know
// after a restart is in the API: who is active and since when in status, who paused a Deployment in its annotations.
package deploymentcoordination
