// Package workloads runs stories with pods of workloads of other kinds: with the real Argo Rollouts, and with LeaderWorkerSets, JobSets and
// RayClusters of which the tests play the controllers, step by step and in the order of the real ones.
//
// Argo Rollouts is the program bin/ecosystem/argo-rollouts, which `make test-ecosystem` builds from its module.
package workloads
