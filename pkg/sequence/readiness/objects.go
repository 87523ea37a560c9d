package readiness

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Objects are the objects that a group waits for, in the order of its spec, as podsequence-controller recorded them in the status of the
// sequence. Both programs decide by the record, so they never differ about an object.
//
// Since when the group is satisfied is when the last of its members and objects came to be so. A time in the future counts as now. Of an
// object of which no time is recorded it is when this program first saw that it is so.
type Objects []Object

// Object is what is recorded of one object. State is empty while nothing is.
type Object struct {
	v1alpha1.ObjectReference
	State v1alpha1.ObjectState
	UID   types.UID
	// Since is since when the object is Satisfied; zero if it is not.
	Since   time.Time
	Message string
}

// ObjectsNeed is what a group lacks of its objects.
type ObjectsNeed struct {
	// Objects counts them, and Satisfied those that are as the group requires.
	Objects, Satisfied int
	// First is the first that is not, or the only one there is, in words. State is how that one is.
	First string
	State v1alpha1.ObjectState
}

// Need returns what the group lacks of its objects.
func (o Objects) Need() ObjectsNeed {
	n := ObjectsNeed{Objects: len(o), State: v1alpha1.ObjectSatisfied}
	for i := range o {
		switch {
		case o[i].State == v1alpha1.ObjectSatisfied:
			n.Satisfied++
		case n.First == "", n.State != v1alpha1.ObjectNotReadable && o[i].State == v1alpha1.ObjectNotReadable:
			n.First, n.State = o[i].String(), o[i].State // first what somebody must do something about
		}
	}
	if len(o) == 1 {
		n.First = o[0].String()
	}
	return n
}

// Since returns when the last of the objects came to be as the group requires; zero if there are none. It asks for nothing if some
// are not.
func (o Objects) Since() time.Time {
	since := time.Time{}
	for i := range o {
		since = latest(since, o[i].Since)
	}
	return since
}

// IsSatisfied reports whether all objects are as the group requires.
func (n ObjectsNeed) IsSatisfied() bool { return n.Satisfied == n.Objects }

// String says how many objects are ready, and what the first of the others lacks.
func (n ObjectsNeed) String() string {
	text := fmt.Sprintf("%d of %d objects ready", n.Satisfied, n.Objects)
	switch {
	case n.Objects == 1:
		return n.First
	case n.First != "":
		text += ": " + n.First
	}
	return text
}

// Name names the object as messages do.
func (o *Object) Name() string { return ObjectName(o.ObjectReference) }

// ObjectName names an object as messages do.
func ObjectName(o v1alpha1.ObjectReference) string {
	if o.Namespace != "" {
		return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name)
	}
	return o.Kind + " " + o.Name
}

// String says how the object is.
func (o *Object) String() string {
	text := o.Name()
	switch o.State {
	case v1alpha1.ObjectSatisfied:
		return text + " is ready"
	case v1alpha1.ObjectNotFound:
		text += " does not exist"
	case v1alpha1.ObjectNotReadable:
		text += " cannot be read"
	case v1alpha1.ObjectWaiting:
		text += " is not ready"
	default:
		return text + " has not been looked at yet by podsequence-controller"
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}
