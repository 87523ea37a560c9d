// Package rolloutcheck is the judge of rollouts: it watches a cluster and says whether two Deployments were ever rolling
// at once.
//
// It shares no code with the controller it judges and reads nothing that the controller says; it does not even know that
// there are DeploymentCoordinations. It reads every change of every Deployment from etcd (package revisions), in order.
//
// A Deployment is rolling from the change that leaves it unpaused with a pod template other than the one it last rolled
// out, up to the change that tells that this template is rolled out: its controller has observed the newest generation,
// and all replicas are of that template and available. Scaling and failing pods do not change the template, so they are no
// rollout. What was rolled out when the watch began is taken for rolled out.
package rolloutcheck
