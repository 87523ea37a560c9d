package deployment

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var (
	volumes = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	claims  = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// patchingVolume changes a volume, which is in no namespace.
func patchingVolume(name, patch string) attempt {
	return func(a attempts) error {
		_, err := a.Resource(volumes).Patch(a.Context(), name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

// An owner that does not exist makes the garbage collector delete a claim, and with it the data. A client that changes the claim of
// a released volume reads what somebody else left there.
func TestAStolenTokenOfTheSchedulerOnlyBindsVolumes(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume := func(name string, claim *corev1.ObjectReference) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: ns + name},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: ns, Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, ClaimRef: claim,
				PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "example.com", Path: "/"}},
			},
		}
	}
	kept := []*corev1.PersistentVolume{
		volume("-free", nil), volume("-reserved", &corev1.ObjectReference{Namespace: ns, Name: "later"}),
		volume("-released", &corev1.ObjectReference{Namespace: ns, Name: "gone", UID: "gone"}),
	}
	for _, volume := range kept {
		create(s, volume)
	}
	s.Cleanup(func() { // they are no part of the namespace
		for _, volume := range kept {
			assert.NoError(s, s.cluster.API.Delete(context.Background(), volume))
		}
	})
	// The volume controller leaves it alone, because its class is of another one.
	create(s, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data", Annotations: map[string]string{"note": "kept"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(ns + "-none"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	})
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"a"}]}}`
	claimed := func(name, uid string) string {
		return `{"spec":{"claimRef":{"namespace":"` + ns + `","name":"` + name + `","uid":"` + uid + `"}}}`
	}
	claim := func(patch string) attempt { return patching(claims, "data", types.MergePatchType, patch) }
	may := ": podsequence-scheduler may not change these fields of persistentvolume"
	stolen := stealToken(s, "podsequence-scheduler", ns)
	stolen.awaitRefusal(claim(owner), "podsequence-scheduler-volumes")
	stolen.expectRefused(refusals{
		"an owner of a claim":               {claim(owner), "metadata.ownerReferences" + may + "claims"},
		"a finalizer of a claim":            {claim(`{"metadata":{"finalizers":["example.com/stay"]}}`), "metadata.finalizers" + may},
		"to unprotect a claim":              {claim(`{"metadata":{"finalizers":null}}`), "metadata.finalizers" + may},
		"a label of a claim":                {claim(`{"metadata":{"labels":{"a":"b"}}}`), "metadata.labels" + may},
		"an annotation of a claim":          {claim(`{"metadata":{"annotations":{"note":"a"}}}`), "metadata.annotations[note]" + may},
		"the volume of a claim":             {claim(`{"spec":{"volumeName":"other"}}`), "spec.volumeName" + may},
		"an owner of a volume":              {patchingVolume(ns+"-free", owner), "metadata.ownerReferences" + may + "s"},
		"what becomes of a released volume": {patchingVolume(ns+"-released", `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`), "spec.persistentVolumeReclaimPolicy" + may},
		"a released volume":                 {patchingVolume(ns+"-released", claimed("data", "a")), "spec.claimRef of another claim" + may},
		"a released volume by its name":     {patchingVolume(ns+"-released", claimed("gone", "a")), "spec.claimRef of another claim" + may},
		"to free a released volume":         {patchingVolume(ns+"-released", `{"spec":{"claimRef":null}}`), "spec.claimRef of another claim" + may},
		"a reserved volume":                 {patchingVolume(ns+"-reserved", claimed("data", "a")), "spec.claimRef of another claim" + may},
		"an annotation of a volume":         {patchingVolume(ns+"-free", `{"metadata":{"annotations":{"note":"a"}}}`), "metadata.annotations[note]" + may},
		"to delete a claim":                 {deleting(claims, "data"), "cannot delete resource"},
	})
	stolen.expectAccepted(map[string]attempt{
		"the node of a claim":               claim(`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-0"}}}`),
		"the claim of a free volume":        patchingVolume(ns+"-free", claimed("data", "a")),
		"the claim of a reserved volume":    patchingVolume(ns+"-reserved", claimed("later", "a")),
		"that the scheduler bound a volume": patchingVolume(ns+"-free", `{"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}}}`),
	})
}
