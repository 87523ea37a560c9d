// Package removal takes PodSequence out of a cluster and gives what it holds back to its owners. It works with the
// permissions of the person who removes it, needs none of our programs to run, and may be cut short anywhere: running it
// again goes on from there, and does nothing once there is nothing left to do.
//
//   - Undeploy removes the programs, their policies and their permissions, and keeps the kinds and their objects (undeploy.go).
//   - Uninstall removes the kinds, and with them their objects (uninstall.go).
//
// Both unpause what DeploymentCoordinations paused, take our finalizer off them, and that of the controller before us off
// PodSequences (release.go). Both list at the end what nobody but its owner can change: pods that stay Pending, and the command after
// which they are scheduled (report.go).
package removal
