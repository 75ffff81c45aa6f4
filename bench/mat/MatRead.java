package org.eclipse.mat.parser.internal;

import java.io.File;
import java.io.FileInputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import org.eclipse.core.runtime.ContributorFactorySimple;
import org.eclipse.core.runtime.IExtensionRegistry;
import org.eclipse.core.runtime.RegistryFactory;
import org.eclipse.core.runtime.dynamichelpers.ExtensionTracker;
import org.eclipse.core.runtime.spi.RegistryStrategy;
import org.eclipse.mat.hprof.HprofIndexBuilder;
import org.eclipse.mat.parser.internal.util.ParserRegistry;
import org.eclipse.mat.parser.model.XSnapshotInfo;
import org.eclipse.mat.snapshot.ISnapshot;
import org.eclipse.mat.snapshot.model.IClass;
import org.eclipse.mat.util.IProgressListener;
import org.eclipse.mat.util.VoidProgressListener;
import org.osgi.framework.BundleContext;

/**
 * Opens a heap dump with Eclipse MAT's own parser and prints what it makes of it, without Eclipse
 * around it: MatRead DUMP PLUGIN_DIRECTORY...
 *
 * A line for each object: root (a class of ours for one), class or object; its address; that of its
 * immediate dominator, -1 for none; the name of its class.
 */
public class MatRead {
    static void set(Class<?> of, Object object, String name, Object value) throws Exception {
        Field field = of.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }

    /* What starting the bundles would have set up: a registry with the extensions of MAT's, and a
     * platform that is not being debugged. */
    static ParserRegistry.Parser start(String[] args) throws Exception {
        Class<?> platform = Class.forName("org.eclipse.core.internal.runtime.PlatformActivator");
        for (Field field : platform.getDeclaredFields())
            if (field.getType() == BundleContext.class)
                set(platform, null, field.getName(), Proxy.newProxyInstance(
                    MatRead.class.getClassLoader(), new Class<?>[] {BundleContext.class},
                    (self, method, values) -> null));
        Object token = new Object();
        IExtensionRegistry registry =
            RegistryFactory.createRegistry(new RegistryStrategy(null, null), token, token);
        RegistryFactory.setDefaultRegistryProvider(() -> registry);
        for (int i = 1; i < args.length; i++) {
            String name = new File(args[i]).getName();
            try (FileInputStream xml = new FileInputStream(args[i] + "/plugin.xml")) {
                registry.addContribution(xml, ContributorFactorySimple.createContributor(name),
                                         false, name, null, token);
            }
        }
        ParserPlugin plugin = new ParserPlugin();
        set(ParserPlugin.class, null, "plugin", plugin);
        set(ParserPlugin.class, plugin, "tracker", new ExtensionTracker(registry));
        set(ParserPlugin.class, plugin, "registry",
            new ParserRegistry(plugin.getExtensionTracker()));
        return plugin.getParserRegistry().matchParser("a.hprof").get(0);
    }

    /* As SnapshotFactoryImpl.parse does it. */
    static SnapshotImpl open(String path, ParserRegistry.Parser parser) throws Exception {
        IProgressListener listener = new VoidProgressListener() {
            public void sendUserMessage(Severity severity, String message, Throwable why) {
                System.err.println(severity + " " + message);
            }
        };
        String prefix = path.replaceFirst("hprof$", "");
        HprofIndexBuilder builder = new HprofIndexBuilder();
        builder.init(new File(path), prefix);
        XSnapshotInfo info = new XSnapshotInfo();
        info.setPath(path);
        info.setPrefix(prefix);
        info.setProperty("$heapFormat", "hprof");
        PreliminaryIndexImpl index = new PreliminaryIndexImpl(info);
        builder.fill(index, listener);
        SnapshotImplBuilder made = new SnapshotImplBuilder(index.getSnapshotInfo());
        int[] purged = GarbageCleaner.clean(index, made, new HashMap<>(), listener);
        builder.clean(purged, listener);
        SnapshotImpl snapshot = made.create(parser, listener);
        snapshot.calculateDominatorTree(listener);
        return snapshot;
    }

    static void print(ISnapshot snapshot, String what, int id, String name) throws Exception {
        int dominator = snapshot.getImmediateDominatorId(id);
        System.out.println(what + "\t" + snapshot.mapIdToAddress(id) + "\t"
                           + (dominator < 0 ? -1 : snapshot.mapIdToAddress(dominator)) + "\t"
                           + name);
    }

    public static void main(String[] args) throws Exception {
        SnapshotImpl snapshot = open(args[0], start(args));
        for (IClass type : snapshot.getClasses()) {
            boolean isRoot = type.getName().startsWith("root ");
            print(snapshot, isRoot ? "root" : "class", type.getObjectId(), type.getName());
            for (int id : type.getObjectIds())
                if (!snapshot.isClass(id))
                    print(snapshot, "object", id, type.getName());
        }
    }
}
