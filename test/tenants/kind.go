package main

import (
	"slices"
	"strings"
)

// kind is where objects are written to.
type kind struct{ api, plural string }

var (
	podKind          = kind{"/api/v1", "pods"}
	deploymentKind   = kind{"/apis/apps/v1", "deployments"}
	jobKind          = kind{"/apis/batch/v1", "jobs"}
	sequenceKind     = kind{"/apis/scheduling.example.com/v1alpha1", "podsequences"}
	coordinationKind = kind{"/apis/apps.containerinfra.nl/v1", "deploymentcoordinations"}
	stepsKind        = kind{"/apis/batch.example.com/v1alpha1", "sequentialjobs"}
)

// decoyPrefix makes the API group of a decoy of that of one of our kinds.
const decoyPrefix = "decoys."

// decoyed are our kinds, which have decoys.
var decoyed = []kind{sequenceKind, coordinationKind, stepsKind}

// group is the API group of a kind, or empty for the core group.
func (k kind) group() string {
	group, _, _ := strings.Cut(strings.TrimPrefix(k.api, "/apis/"), "/")
	return group
}

// decoy is the kind that stands for it where our programs are not to care: a copy of ours, or the kind itself, which others
// watch besides us.
func (k kind) decoy() kind {
	if slices.Contains(decoyed, k) {
		k.api = strings.Replace(k.api, "/apis/", "/apis/"+decoyPrefix, 1)
	}
	return k
}
