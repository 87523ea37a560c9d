package podgroup

const (
	// DefaultNameLabel is the label whose value is the name of the group that a pod belongs to.
	DefaultNameLabel = "podgroup.jhwagner.github.io/name"
	// DefaultReadyLabel is the label that pods get when all of their group run.
	DefaultReadyLabel = "podgroup.jhwagner.github.io/ready"
	// ReadyValue is the value of that label.
	ReadyValue = "true"
	// SizeAnnotation says on a pod how many pods its group has: a whole number, at least 1.
	SizeAnnotation = "podgroup.jhwagner.github.io/size"
)

// The reasons of events, all of them warnings, on a pod of the group.
const (
	// EventInvalidSize tells of a size annotation that is no size.
	EventInvalidSize = "InvalidGroupSize"
	// EventSizeConflict tells of sources that give the group different sizes.
	EventSizeConflict = "GroupSizeConflict"
	// EventNotReady tells why pods wait for the label, once they have waited for a while or wait in vain.
	EventNotReady = "GroupNotReady"
)

// Options of the controller: the keys of two labels, which must differ.
type Options struct {
	// NameLabel names the group that a pod belongs to.
	NameLabel string
	// ReadyLabel is given to pods.
	ReadyLabel string
}
