//! The part of a tile that one thread holds: a struct with one named field for each register.
//!
//! Never an array: LLVM may leave an array in local memory, a struct of scalars it always takes apart.

/// Declares a fragment of as many registers as are named.
#[allow(unused_macros, reason = "generated kernels use it")]
macro_rules! fragment {
    ($(#[$meta:meta])* $name:ident { $($r:ident)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[allow(unreachable_pub, reason = "the fields are the kernel's own")]
        pub struct $name<T> {
            $(
                /// A register.
                pub $r: T,
            )*
        }

        #[allow(dead_code, unreachable_pub, reason = "a kernel uses what it needs")]
        impl<T: Copy> $name<T> {
            /// The same value in every register.
            #[inline(always)]
            pub fn splat(value: T) -> Self {
                $name { $($r: value),* }
            }

            /// `f` of every register.
            #[inline(always)]
            pub fn map<U>(self, f: impl Fn(T) -> U) -> $name<U> {
                $name { $($r: f(self.$r)),* }
            }

            /// `f` of the registers of two fragments.
            #[inline(always)]
            pub fn zip<U: Copy, V>(self, other: $name<U>, f: impl Fn(T, U) -> V) -> $name<V> {
                $name { $($r: f(self.$r, other.$r)),* }
            }

            /// `f` of the registers of three fragments.
            #[inline(always)]
            pub fn zip3<U: Copy, V: Copy, W>(
                self,
                second: $name<U>,
                third: $name<V>,
                f: impl Fn(T, U, V) -> W,
            ) -> $name<W> {
                $name { $($r: f(self.$r, second.$r, third.$r)),* }
            }
        }

        #[allow(dead_code, unreachable_pub, reason = "a kernel uses what it needs")]
        impl $name<bool> {
            /// Whether every register holds.
            #[inline(always)]
            pub fn all(self) -> bool {
                true $(& self.$r)*
            }
        }
    };
}
#[allow(unused_imports, reason = "generated kernels use it")]
pub(crate) use fragment;

#[cfg(test)]
mod tests {
    fragment!(Frag3 { r0 r1 r2 });

    #[test]
    fn works_register_by_register() {
        let a = Frag3 { r0: 1, r1: 2, r2: 3 };
        let b = a.map(|x| x * 10);
        assert_eq!((b.r0, b.r1, b.r2), (10, 20, 30));
        let c = a.zip(b, |x, y| y - x);
        assert_eq!((c.r0, c.r1, c.r2), (9, 18, 27));
        let d = a.zip3(b, Frag3::splat(true), |x, y, z| if z { x + y } else { 0 });
        assert_eq!((d.r0, d.r1, d.r2), (11, 22, 33));
        assert!(a.map(|x| x > 0).all() && !a.map(|x| x > 1).all());
    }
}
