// Package kueue runs stories with the real Kueue beside PodSequence.
//
// Kueue is the program bin/ecosystem/kueue, which `make test-ecosystem` builds from Kueue's module. It is installed as its own kustomization
// says, but for its Deployment: the program is a child of the test. The API server reaches its webhooks by Kueue's Service, which is another
// name of localhost here, and the test does what a kubelet does: it writes the certificate that Kueue made to where Kueue reads it.
package kueue
