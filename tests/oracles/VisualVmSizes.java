import java.io.*;
import org.graalvm.visualvm.lib.jfluid.heap.*;

/** Prints what VisualVM's heap library says of every object: identifier, size, retained size. */
public class VisualVmSizes {
    public static void main(String[] args) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(args[0]));
        try (PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter(args[1])))) {
            for (JavaClass type : heap.getAllClasses()) {
                Instance object = heap.getInstanceByID(type.getJavaClassId());
                out.println(type.getJavaClassId() + "\tclass\t" + object.getSize() + "\t"
                        + object.getRetainedSize());
                for (Instance each : type.getInstances())
                    out.println(each.getInstanceId() + "\tobject\t" + each.getSize() + "\t"
                            + each.getRetainedSize());
            }
        }
    }
}
