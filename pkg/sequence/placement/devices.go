package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
)

// A device plugin makes its resource appear on a node only once it runs there. Until then the node looks like one that will never
// have the resource. What tells them apart is the nodeSelector of the driver's group: it names the nodes that the driver is for.

// IsDevice reports whether a resource may be one that a driver brings to its nodes: an extended resource. The kernel and kubelet
// offer all others, huge pages among them, before any pod runs.
func IsDevice(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// DevicesIn returns those of the requests that are for devices.
func DevicesIn(requests inventory.Resources) inventory.Resources {
	var devices inventory.Resources
	for _, r := range requests {
		if IsDevice(r.Name) {
			devices = append(devices, r)
		}
	}
	return devices
}

// Lacks reports whether a node has fewer devices than pods ask for, whoever uses them. A node that has not said yet what it offers
// lacks none.
func Lacks(allocatable, devices inventory.Resources) bool {
	if len(allocatable) == 0 {
		return false
	}
	return slices.ContainsFunc(devices, func(d inventory.Resource) bool { return allocatable.Of(d.Name) < d.Amount })
}
