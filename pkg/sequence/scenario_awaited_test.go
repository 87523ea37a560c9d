package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// awaitedObject reads KIND/NAME or KIND/NAMESPACE/NAME, with :UNTIL after it unless that is the default.
func awaitedObject(text string) v1alpha1.ObjectReference {
	text, until, _ := strings.Cut(text, ":")
	parts := strings.Split(text, "/")
	object := v1alpha1.ObjectReference{APIVersion: "example.com/v1", Kind: parts[0], Name: parts[len(parts)-1], Until: until}
	if len(parts) == 3 {
		object.Namespace = parts[1]
	}
	return object
}

// recordObject writes what the controller would record of an object, wherever a group of the sequence waits for it.
//
//	object SEQUENCE KIND/NAME[:UNTIL] STATE [since=D] [uid=U] [message=(WORD,...)]
func (s *scenario) recordObject(t *testing.T, d *datadriven.TestData) string {
	name, of := d.CmdArgs[0].Key, awaitedObject(d.CmdArgs[1].Key)
	record := v1alpha1.ObjectStatus{
		APIVersion: of.APIVersion, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, Until: of.Until, State: v1alpha1.ObjectState(d.CmdArgs[2].Key),
	}
	for _, arg := range d.CmdArgs[3:] {
		switch arg.Key {
		case "since":
			record.Since = ptr.To(timeArgument(t, d, arg.Vals[0]))
		case "uid":
			record.UID = types.UID(arg.Vals[0])
		case "message":
			record.Message = strings.Join(arg.Vals, " ")
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	ps := s.sequences[name].DeepCopy()
	report, ok := s.engine.Report(s.key(name))
	if !ok {
		return "no such sequence"
	}
	ps.Status = report.Status(ps, s.now().Time)
	for i, g := range ps.Spec.PodGroups {
		if !slices.ContainsFunc(g.Objects, func(o v1alpha1.ObjectReference) bool { return o == of }) {
			continue
		}
		objects := slices.DeleteFunc(ps.Status.Groups[i].Objects, func(o v1alpha1.ObjectStatus) bool {
			return o.Kind == of.Kind && o.Namespace == of.Namespace && o.Name == of.Name && (o.Until == of.Until)
		})
		ps.Status.Groups[i].Objects = append(objects, record)
	}
	s.write(name, ps)
	return s.describe(s.tellSequence(name))
}

// write notes that a status was written now.
func (s *scenario) write(name string, ps *v1alpha1.PodSequence) {
	ps.ResourceVersion = strconv.Itoa(s.version)
	ps.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: ptr.To(s.now())}}
	s.sequences[name] = ps
}

// objectsInWords says what status has of objects.
func objectsInWords(objects []v1alpha1.ObjectStatus) string {
	text := ""
	for _, o := range objects {
		text += fmt.Sprintf("    %s/%s %s", o.Kind, o.Name, o.State)
		if o.Since != nil {
			text += fmt.Sprintf(" since=%s", o.Since.Sub(scenarioEpoch).Round(time.Second))
		}
		text += "\n"
	}
	return text
}
