// shop.js SCALE OUT: a heap like that of a server, written as a heap snapshot.
'use strict';
const scale = Number(process.argv[2]);
let seed = 42;
function random(n) {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return seed % n;
}

class Product {
  constructor(i) {
    this.id = i;
    this.tags = ['a' + i % 7, 'b' + i % 11];
    this.price = i * 1.5;
  }
}
class Order {
  constructor(id, user, lines, prev) {
    Object.assign(this, {id, user, lines, prev});
    this.when = new Date(1e12 + id);
  }
}
class User {
  constructor(i) {
    this.id = i;
    this.name = 'user ' + i;
    this.orders = [];
  }
}
class View {
  constructor(depth, parent) {
    this.parent = parent;
    this.children = [];
    this.on = () => parent && depth;
    for (let k = 0; depth > 0 && k < 4; k++)
      this.children.push(new View(depth - 1, this));
  }
}

const products = Array.from({length: 200 * scale}, (_, i) => new Product(i));
const users = new Map();
let prev = null;
for (let i = 0; i < 2000 * scale; i++) {
  const user = new User(i);
  users.set('u' + i, user);
  for (let k = random(5); k > 0; k--) {
    const lines = [products[random(products.length)], products[random(products.length)]];
    prev = new Order(i * 5 + k, user, lines, prev);
    user.orders.push(prev);
  }
}
const view = new View(6, null);
const listeners = new Set();
(function listen(v) {
  listeners.add(v.on);
  v.children.forEach(listen);
})(view);
const weak = new WeakMap();
const references = [];
let n = 0;
for (const user of users.values()) {
  if (n % 3 === 0)
    weak.set(user, {cache: [n, n + 0.5], product: products[n % products.length]});
  if (n % 5 === 0)
    references.push(new WeakRef(user));
  n++;
}
const buffers = Array.from({length: 100}, () => new Uint8Array(random(300) + 1));
const registry = new FinalizationRegistry(() => {});
registry.register(users.get('u1'), {held: 1});
globalThis.shop = {products, users, prev, view, listeners, weak, references, buffers, registry,
  text: 'x'.repeat(1001) + n, symbol: Symbol('s'), big: 123456789012345678901234567890n,
  pattern: /a+b/g};
require('v8').writeHeapSnapshot(process.argv[3]);
