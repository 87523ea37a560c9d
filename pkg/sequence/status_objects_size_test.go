package sequence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/report"
	. "example.com/podsequence/test/harness/builders"
)

// objectsIn is a sequence of so many groups of sixteen objects each, with what is recorded of each.
func objectsIn(groups int, record func(i int, status *v1alpha1.ObjectStatus)) *v1alpha1.PodSequence {
	ps := MakeSequence(oracleNamespace, "large").UID("large").Obj()
	for i := range groups {
		g := v1alpha1.PodGroup{Name: fmt.Sprintf("group-%02d", i)}
		status := v1alpha1.GroupStatus{Name: g.Name}
		for j := range 16 {
			of := v1alpha1.ObjectReference{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: fmt.Sprintf("certificate-of-service-%03d", 16*i+j)}
			g.Objects = append(g.Objects, of)
			recorded := v1alpha1.ObjectStatus{
				APIVersion: of.APIVersion, Kind: of.Kind, Name: of.Name, Until: v1alpha1.UntilCurrent, Generation: 1,
				UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", 16*i+j)),
			}
			record(16*i+j, &recorded)
			status.Objects = append(status.Objects, recorded)
		}
		ps.Spec.PodGroups = append(ps.Spec.PodGroups, g)
		ps.Status.Groups = append(ps.Status.Groups, status)
	}
	return ps
}

func TestStatusOfAThousandObjectsIsSmall(t *testing.T) {
	now := metav1.Now()
	tests := map[string]func(int, *v1alpha1.ObjectStatus){
		"all ready": func(_ int, o *v1alpha1.ObjectStatus) { o.State, o.Since = v1alpha1.ObjectSatisfied, &now },
		"none ready": func(_ int, o *v1alpha1.ObjectStatus) {
			o.State, o.Message = v1alpha1.ObjectWaiting, strings.Repeat("é", 500)
		},
		"none readable": func(_ int, o *v1alpha1.ObjectStatus) {
			o.State, o.Message = v1alpha1.ObjectNotReadable, strings.Repeat("create a ClusterRole ", 40)
		},
	}
	for name, record := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplySequence(objectsIn(64, record))
			status, size := statusSize(t, engine, "large")
			assert.Less(t, size, maxStatusSize)
			for _, g := range status.Groups {
				require.Len(t, g.Objects, 16, "none may be forgotten")
			}
		})
	}
}

func TestMessagesOfFewObjectsAreWhole(t *testing.T) {
	const few = 16
	message := strings.Repeat("m", 1000)
	waiting := func(_ int, o *v1alpha1.ObjectStatus) { o.State, o.Message = v1alpha1.ObjectWaiting, message }
	ps := objectsIn(few/16, waiting)
	report.CutObjectMessages(ps.Status.Groups)
	for _, o := range ps.Status.Groups[0].Objects {
		assert.Equal(t, message, o.Message)
	}
	ps = objectsIn(64, waiting)
	report.CutObjectMessages(ps.Status.Groups)
	cut := ps.Status.Groups[63].Objects[15].Message
	assert.True(t, strings.HasSuffix(cut, "..."), cut)
	report.CutObjectMessages(ps.Status.Groups)
	assert.Equal(t, cut, ps.Status.Groups[63].Objects[15].Message, "what is cut is not cut again")
}
